import { expect, it } from "vitest";
import { connectFailure } from "../../clients/typescript/src/node/connection-errors.js";
import { inWordsOfCommands } from "../../src/cli/api/client-words.js";

it.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", /cloakroom login --ca-file FILE$/],
  ["ERR_HTTP2_ERROR", /proxy in between may speak HTTP\/1\.1 only\. Begin --url with https:/],
  ["ERR_SSL_WRONG_VERSION_NUMBER", /begin --url with http:/],
  ["ECONNRESET", /Begin --url with https:/],
])("a failure of the client by %s names options of commands", (code, words) => {
  const url = new URL("http://vault.example.com");
  const { message } = connectFailure(Object.assign(new Error("failed"), { code }), url);
  const shown = inWordsOfCommands(message);
  expect(shown).toMatch(words);
  expect(shown).not.toMatch(/baseUrl|tls\.ca|transport/);
});
