// In place of command-line.ts in the package of the command line, which comes without the server.
const [, , ...words] = process.argv;
const name = words.filter((word) => !word.startsWith("-")).join(" ");
process.stderr.write(
  `"cloakroom ${name}" runs beside a vault's database and needs the server's package: npm install -g @cloakroom/server\n`,
);
process.exitCode = 2;

export {};
