export function welcome(url: string, key: string, link: string): string {
  return `
Welcome to Cloakroom. Your first tenant is ready. This is its management key; it is not shown again:

  ${key}

This link signs its owner in, once, within 10 minutes. For another: cloakroom members sign-in-link --email owner@localhost

  ${link}

${directions(url, `export MANAGEMENT_KEY=${key}`)}`;
}

/** The same for a log, with the file of the key in place of the key. */
export function welcomeWithFile(url: string, file: string, linkFile: string): string {
  return `
Welcome to Cloakroom. Your first tenant is ready. Its management key is in this file, which only its owner can read:

  ${file}

Keep the key in a safe place, and delete the file. A link that signs its owner in, once, within 10 minutes, is in:

  ${linkFile}

For another link: cloakroom members sign-in-link --email owner@localhost

${directions(url, `export MANAGEMENT_KEY=$(cat ${quoted(file)})`)}`;
}

function directions(url: string, exportKey: string): string {
  return `Base URL: ${url}
API, page by page: ${url}/docs

Three things to try, in a second terminal:

  export BASE=${url}
  ${exportKey}

  1. Make an application that may create and reveal tokens:
     curl -s $BASE/applications -H "BT-API-KEY: $MANAGEMENT_KEY" -H 'Content-Type: application/json' \\
       -d '{"name":"Back end","type":"private","rules":[{"priority":1,"container":"/","transform":"reveal","permissions":["token:create","token:read"]}]}'
     export KEY=...        # "key" in the response

  2. Tokenize a card:
     curl -s $BASE/tokens -H "BT-API-KEY: $KEY" -H 'Content-Type: application/json' \\
       -d '{"type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"}}'
     export TOKEN_ID=...   # "id" in the response

  3. Read it back:
     curl -s $BASE/tokens/$TOKEN_ID -H "BT-API-KEY: $KEY"
`;
}

function quoted(path: string): string {
  return /^[\w/.-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
