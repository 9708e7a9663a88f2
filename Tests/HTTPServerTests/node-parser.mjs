// Parses inputs with Node's HTTP server, for comparison with the relay's parser.
//
// Standard input: one hexadecimal input per line. Standard output: a line of JSON with Node's methods, then one line per input:
// {"requests": [{"method", "url", "body"}], "error"}. Each input is sent over a loopback connection that is then closed, so
// Node decides what is complete.
import http from "node:http";
import net from "node:net";
import readline from "node:readline";

const parallel = 16;

const server = http.createServer((request, response) => {
  const seen = request.socket.seen;
  const body = [];
  request.on("data", (chunk) => body.push(chunk));
  request.on("end", () => {
    seen.requests.push({
      method: request.method,
      url: Buffer.from(request.url, "latin1").toString("hex"),
      body: Buffer.concat(body).toString("hex"),
    });
    response.end();
  });
  request.on("error", () => {});
});
server.on("connection", (socket) => {
  socket.seen = { requests: [], error: null };
  seenByPort.set(socket.remotePort, socket.seen);
});
server.on("clientError", (error, socket) => {
  socket.seen.error = error.code ?? String(error);
  socket.destroy();
});

const seenByPort = new Map();

// Resolves with the server's view of one connection after both sides have closed it.
function examine(bytes) {
  return new Promise((resolve) => {
    const socket = net.connect(server.address().port, "127.0.0.1", () => socket.end(bytes));
    let port;
    socket.on("connect", () => (port = socket.localPort));
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.on("close", () => {
      const seen = seenByPort.get(port) ?? { requests: [], error: "no connection" };
      seenByPort.delete(port);
      resolve(seen);
    });
  });
}

server.listen(0, "127.0.0.1", async () => {
  console.log(JSON.stringify({ version: process.version, methods: http.METHODS }));
  const inputs = [];
  for await (const line of readline.createInterface({ input: process.stdin })) inputs.push(Buffer.from(line, "hex"));
  const results = new Array(inputs.length);
  let next = 0;
  const worker = async () => {
    while (next < inputs.length) {
      const index = next++;
      results[index] = await examine(inputs[index]);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  process.stdout.write(results.map((result) => JSON.stringify(result)).join("\n") + "\n", () => process.exit(0));
});
