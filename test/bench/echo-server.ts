import Fastify from "fastify";

// The floor: a bare Fastify that parses a JSON body and writes it back. It runs in its own process, like the server it
// is compared with.
const app = Fastify({ logger: false, bodyLimit: 6 * 1024 * 1024 });
app.post("/", (request, reply) => reply.send(request.body));
const address = await app.listen({ host: "127.0.0.1", port: 0 });
process.stderr.write(`Serving an echo at ${address}\n`);
process.once("SIGTERM", () => void app.close());
