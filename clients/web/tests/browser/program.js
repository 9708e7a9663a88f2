import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A browser with a new profile. */
export class Program {
    static async start(Kind, ...parameters) {
        const program = new Kind();
        program.profile = await mkdtemp(join(tmpdir(), "page-"));
        try {
            await program.begin(...parameters);
            return program;
        } catch (error) {
            await program.stop();
            throw new Error(`${error.message}\nThe program printed:\n${program.output ?? ""}`, { cause: error });
        }
    }

    run(command, parameters, environment = {}) {
        // A process group of its own, which ends with it.
        this.process = spawn(command, parameters, { detached: true, stdio: ["ignore", "pipe", "pipe"],
            env: { ...process.env, HOME: this.profile, ...environment } });
        this.output = "";
        this.process.on("error", (error) => (this.output += error.message));
        for (const stream of [this.process.stdout, this.process.stderr]) stream.on("data",
            (bytes) => (this.output = (this.output + bytes).slice(-20_000)));
    }

    async stop() {
        const { process: child } = this;
        if (child?.pid && child.exitCode === null && child.signalCode === null) {
            const ended = new Promise((resolve) => child.once("exit", resolve));
            process.kill(-child.pid, "SIGKILL");
            await ended;
        }
        await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
    }
}
