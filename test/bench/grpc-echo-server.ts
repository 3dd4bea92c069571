import { createServer } from "node:http2";

// The floor of gRPC: Node's HTTP/2, with the headers and trailers of our responses, writes each message back. It runs in
// its own process, like the server it is compared with.
const HEADERS = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "bt-trace-id": "0192f0c8-7b5c-7c3e-8f54-6d6f1b7f7a10",
  "cache-control": "no-store",
  "content-security-policy": "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};
const server = createServer();
server.on("stream", (stream) => {
  const body: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => body.push(chunk));
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.on("end", () => {
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.end(Buffer.concat(body));
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  process.stderr.write(`Serving an echo at http://127.0.0.1:${port}\n`);
});
process.once("SIGTERM", () => process.exit());
