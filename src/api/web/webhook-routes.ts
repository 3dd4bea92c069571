import type { FastifyInstance } from "fastify";

/** Where receivers of webhooks find the key that signs requests to them. */
export const WEBHOOK_KEY_PATH = "/.well-known/webhooks.v1.key";

/** Receivers may keep the key for an hour. It is never replaced under this name. */
const CACHING = "public, max-age=3600";

/** The public key of requests to webhooks, and a path that says no more than that the server responds. Neither takes a key. */
export function registerWebhookRoutes(app: FastifyInstance, publicKeyPem: () => Promise<string>): void {
  app.get(WEBHOOK_KEY_PATH, async (_, reply) =>
    reply
      .header("cache-control", CACHING)
      .type("application/x-pem-file")
      .send(await publicKeyPem()),
  );
  app.get("/ping", async (_, reply) => reply.code(200).send());
}
