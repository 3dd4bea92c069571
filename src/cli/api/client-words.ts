import type { CloakroomError } from "@cloakroom/client";

/** Options of the client in its messages, and what takes their place in a command. */
const WORDS: readonly (readonly [client: string, command: string])[] = [
  ["Name its authority in tls.ca.", "Name the file of its authority: cloakroom login --ca-file FILE"],
  ["It may ask for tls.cert and tls.key.", "It may ask for a client certificate, which commands do not send."],
  [
    'Set transport: "connect" if a proxy in between speaks HTTP/1.1 only.',
    "A proxy in between may speak HTTP/1.1 only.",
  ],
  [", or set allowInsecure.", "."],
  ["baseUrl", "--url"],
];

/** The message of an error, with options of commands where the client names its own. The server's messages stay as they are. */
export function messageForCommands({ message, rpcCode }: Pick<CloakroomError, "message" | "rpcCode">): string {
  if (rpcCode !== undefined) return message;
  return WORDS.reduce((text, [client, command]) => text.replaceAll(client, command), message);
}
