import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { files } from "../src/files.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const text = (file) => readFileSync(join(root, file), "utf8");
const imports = (file) => [...text(file).matchAll(/^(?:import|export)\b[^;]*?from "(\.[^"]+)";|^import "(\.[^"]+)";/gm)]
    .map((found) => normalize(join(dirname(file), found[1] ?? found[2])));

test("the list of files has every module that page and worker import, and no other", () => {
    const reached = new Set();
    const waiting = ["src/main.js", "worker.js"];
    while (waiting.length > 0) {
        const file = waiting.pop();
        if (reached.has(file)) continue;
        reached.add(file);
        waiting.push(...imports(file));
    }
    assert.deepEqual(files.filter((file) => file.endsWith(".js")).sort(), [...reached].sort());
});

test("the list of files has everything of the folder that the page uses", () => {
    for (const file of files) assert.ok(existsSync(join(root, file)), file);
    const icons = readdirSync(join(root, "icons")).filter((name) => /\.(png|svg)$/.test(name));
    assert.deepEqual(files.filter((file) => file.startsWith("icons/")).sort(), icons.map((name) => `icons/${name}`).sort());
    const { icons: listed } = JSON.parse(text("manifest.webmanifest"));
    for (const { src } of listed) assert.ok(files.includes(src), src);
});

test("all files together stay below 150 kB as they are sent, compressed", () => {
    const sizes = files.map((file) => readFileSync(join(root, file))).map((bytes) => [bytes.length, gzipSync(bytes, { level: 9 }).length]);
    const sent = sizes.reduce((sum, [whole, compressed]) => sum + Math.min(whole, compressed), 0);
    assert.ok(sent <= 150_000, `${sent} bytes compressed`);
});

test("nothing in the page is inline, from elsewhere, or at an absolute address", () => {
    const page = text("index.html");
    assert.doesNotMatch(page, /\son[a-z]+=|style=|<style|javascript:|<script(?![^>]*\ssrc=)/i);
    for (const [, address] of page.matchAll(/\s(?:src|href)="([^"]*)"/g)) assert.doesNotMatch(address, /^(\/|[a-z]+:)/i);
    for (const file of files.filter((file) => /^(src|worker).*\.js$/.test(file))) {
        assert.doesNotMatch(text(file),
            /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.style\b|console\./, file);
    }
});
