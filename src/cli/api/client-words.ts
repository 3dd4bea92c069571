/** Options of the client in its messages, and what takes their place in a command. */
const WORDS: readonly (readonly [client: string, command: string])[] = [
  ["Name its authority in tls.ca.", "Name the file of its authority: cloakroom login --ca-file FILE"],
  [
    'Set transport: "connect" if a proxy in between speaks HTTP/1.1 only.',
    "A proxy in between may speak HTTP/1.1 only.",
  ],
  ["baseUrl", "--url"],
];

/** A message of the client in the words of commands. */
export function inWordsOfCommands(message: string): string {
  return WORDS.reduce((text, [client, command]) => text.replaceAll(client, command), message);
}
