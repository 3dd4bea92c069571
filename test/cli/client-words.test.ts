import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { connectFailure } from "../../clients/typescript/src/node/connection-errors.js";
import { messageForCommands } from "../../src/cli/api/client-words.js";

it.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", /cloakroom login --ca-file FILE$/],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", /a client certificate, which commands do not send\.$/],
  ["ERR_HTTP2_ERROR", /proxy in between may speak HTTP\/1\.1 only\. Begin --url with https:/],
  ["ERR_SSL_WRONG_VERSION_NUMBER", /begin --url with http:/],
  ["ECONNRESET", /Begin --url with https:/],
])("a failure of the client by %s names options of commands", (code, words) => {
  const url = new URL("http://vault.example.com");
  const { message } = connectFailure(Object.assign(new Error("failed"), { code }), url);
  expect(messageForCommands({ message, rpcCode: undefined })).toMatch(words);
});

const NAMES_OPTION = /baseUrl|allowInsecure|\btls\.|transport:/;

it.each(["options", "response-errors", "node/connection-errors"])(
  "no message in %s of the client names its options",
  (file) => {
    const source = readFileSync(`clients/typescript/src/${file}.ts`, "utf8").replaceAll(/\$\{[^}]*\}/g, "x");
    const messages = (source.match(/"(?:[^"\\\n])*"|'[^'\n]*'|`[^`]*`/g) ?? []).filter((text) =>
      NAMES_OPTION.test(text),
    );
    expect(messages.length).toBeGreaterThan(0);
    for (const message of messages)
      expect(messageForCommands({ message, rpcCode: undefined })).not.toMatch(NAMES_OPTION);
  },
);

it("leaves messages of the server as they are", () => {
  const message = "baseUrl is the name of a field";
  expect(messageForCommands({ message, rpcCode: "invalid_argument" })).toBe(message);
});
