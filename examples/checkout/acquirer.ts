import { createServer } from "node:http";

/*
 * A payment service that the vault has no connector for: it takes card numbers. Only the vault's proxy sends it one.
 */

const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const { amount, card } = Object(JSON.parse(text));
  const isApproved = /^\d{13,19}$/.test(card.number) && card.number !== "4000000000000002";
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ status: isApproved ? "approved" : "declined", amount, last4: card.number.slice(-4) }));
});
const { port } = new URL(process.env.ACQUIRER_URL ?? "http://127.0.0.1:4001");
server.listen(Number(port), "127.0.0.1");
