import { afterAll, describe, expect, test } from "vitest";
import type { HostFetchRequest, HostFetchResponse } from "../../../src/sandbox/host-calls.js";
import { exporting, openSandbox } from "../support/open-sandbox.js";

/** Each package of the published list does its job: it sends a request through the host, or writes a document. */
const opened = openSandbox({ threads: 2 });
afterAll(() => opened[Symbol.asyncDispose]());

const json = (body: object): HostFetchResponse => ({
  status: 200,
  statusText: "OK",
  headers: [["Content-Type", "application/json"]],
  body: { text: JSON.stringify(body) },
});
const xml = (text: string): HostFetchResponse => ({
  ...json({}),
  headers: [["Content-Type", "application/xml; charset=utf-8"]],
  body: { text },
});

async function call(expression: string, response: HostFetchResponse = json({})) {
  const asked: HostFetchRequest[] = [];
  const fetch = async (request: HostFetchRequest) => {
    asked.push(request);
    return response;
  };
  const code = exporting(`async () => (${expression})`);
  const value = await opened.value(code, { hosts: { fetch }, key: { functionId: expression } });
  return { value, asked };
}

const bodyOf = (request: HostFetchRequest | undefined): string => {
  const body = request?.body;
  if (body === undefined) return "";
  return "text" in body ? body.text : Buffer.from(body.base64, "base64").toString();
};
const header = (request: HostFetchRequest | undefined, name: string) =>
  request?.headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1];

describe("clients of services", () => {
  test("stripe", async () => {
    const { value, asked } = await call(
      "await new (require('stripe'))('sk_test_x').customers.create({ email: 'a@b.c' })",
      json({ id: "cus_1", object: "customer" }),
    );
    expect(value).toMatchObject({ id: "cus_1" });
    expect(asked.map(({ method, url }) => [method, url])).toEqual([
      ["POST", "https://api.stripe.com:443/v1/customers"],
    ]);
    expect([bodyOf(asked[0]), header(asked[0], "authorization")]).toEqual(["email=a%40b.c", "Bearer sk_test_x"]);
  });

  test("stripe, with an error", async () => {
    const { value } = await call(
      "await new (require('stripe'))('sk').charges.retrieve('ch_1').catch((e) => [e.type, e.statusCode, e.message])",
      { ...json({ error: { type: "invalid_request_error", message: "No such charge" } }), status: 404 },
    );
    expect(value).toEqual(["StripeInvalidRequestError", 404, "No such charge"]);
  });

  test("twilio", async () => {
    const { value, asked } = await call(
      `(await require('twilio')('AC${"0".repeat(32)}', 'token').messages.create({ to: '+1', from: '+2', body: 'hi' })).sid`,
      json({ sid: "SM1" }),
    );
    expect([value, bodyOf(asked[0])]).toEqual(["SM1", "To=%2B1&From=%2B2&Body=hi"]);
  });

  test("braintree", async () => {
    const { value, asked } = await call(
      "(await new (require('braintree').BraintreeGateway)({ environment: require('braintree').Environment.Sandbox, merchantId: 'm', publicKey: 'p', privateKey: 'k' }).customer.find('7')).firstName",
      xml("<customer><id>7</id><first-name>Ada</first-name></customer>"),
    );
    expect([value, asked[0]?.url]).toEqual([
      "Ada",
      "https://api.sandbox.braintreegateway.com:443/merchants/m/customers/7",
    ]);
  });

  test("@adyen/api-library", async () => {
    const { value, asked } = await call(
      "await new (require('@adyen/api-library').CheckoutAPI)(new (require('@adyen/api-library').Client)({ apiKey: 'k', environment: 'TEST' })).paymentMethods({ merchantAccount: 'm' })",
      json({ paymentMethods: [] }),
    );
    expect([value, bodyOf(asked[0]), header(asked[0], "x-api-key")]).toEqual([
      { paymentMethods: [] },
      '{"merchantAccount":"m"}',
      "k",
    ]);
  });

  test("aws-sdk signs its requests", async () => {
    const { value, asked } = await call(
      "(await new (require('aws-sdk').S3)({ accessKeyId: 'AKIA', secretAccessKey: 'b', region: 'eu-west-1', signatureVersion: 'v4' }).putObject({ Bucket: 'b', Key: 'k', Body: 'x' }).promise()).ETag",
      { ...xml(""), headers: [["ETag", '"abc"']] },
    );
    expect([value, asked[0]?.method]).toEqual(['"abc"', "PUT"]);
    expect(header(asked[0], "authorization")).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIA\/\d{8}\/eu-west-1\/s3/);
  });

  test("dropbox", async () => {
    const { value, asked } = await call(
      "(await new (require('dropbox').Dropbox)({ accessToken: 't' }).usersGetCurrentAccount()).result.account_id",
      json({ account_id: "dbid" }),
    );
    expect([value, header(asked[0], "authorization")]).toEqual(["dbid", "Bearer t"]);
  });

  test("dwolla-v2", async () => {
    const { value, asked } = await call(
      "(await new (require('dwolla-v2').Client)({ key: 'k', secret: 's', environment: 'sandbox' }).get('/')).status",
      json({ access_token: "t", expires_in: 100 }),
    );
    expect([value, asked.map(({ url }) => new URL(url).pathname)]).toEqual([200, ["/token", "/"]]);
  });

  test("soap", async () => {
    const wsdl = `<definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:t="urn:t" targetNamespace="urn:t">
      <message name="In"><part name="a" type="xsd:string"/></message><portType name="P"><operation name="Add"><input message="t:In"/></operation></portType>
      <binding name="B" type="t:P"><soap:binding style="rpc" transport="http://schemas.xmlsoap.org/soap/http"/><operation name="Add"><soap:operation soapAction="add"/><input><soap:body use="literal" namespace="urn:t"/></input></operation></binding>
      <service name="S"><port name="Q" binding="t:B"><soap:address location="https://e.com/add"/></port></service></definitions>`;
    const { value, asked } = await call(
      "await (async () => { const c = await require('soap').createClientAsync('https://e.com/x?wsdl'); await c.AddAsync({ a: '1' }).catch(() => {}); return Object.keys(c.describe().S.Q); })()",
      xml(wsdl),
    );
    expect(value).toEqual(["Add"]);
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "GET https://e.com/x?wsdl",
      "POST https://e.com/add",
    ]);
    expect(bodyOf(asked[1])).toContain("<t:Add><a>1</a></t:Add>");
  });

  test.each([
    [
      "@basis-theory/basis-theory-js",
      "await (await new (require('@basis-theory/basis-theory-js').BasisTheory)().init('key', { apiBaseUrl: 'https://vault.example.com' })).tokens.retrieve('1')",
    ],
    [
      "@basis-theory/node-sdk-2",
      "await new (require('@basis-theory/node-sdk-2').BasisTheoryClient)({ apiKey: 'key', environment: 'https://vault.example.com' }).tokens.get('1')",
    ],
  ])("%s", async (_name, expression) => {
    const { value, asked } = await call(expression, json({ id: "1", type: "token" }));
    expect(value).toMatchObject({ id: "1" });
    expect([asked[0]?.url, header(asked[0], "bt-api-key")]).toEqual(["https://vault.example.com/tokens/1", "key"]);
  });

  test("form-data and axios", async () => {
    const { asked } = await call(
      "await (async () => { const F = require('form-data'); const f = new F(); f.append('a', 'b'); f.append('file', Buffer.from('x'), { filename: 'x.txt' }); return (await require('axios').post('https://e.com', f)).status; })()",
    );
    const boundary = header(asked[0], "content-type")?.replace("multipart/form-data; boundary=", "") ?? "none";
    expect(bodyOf(asked[0])).toContain(`--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n`);
  });
});

describe("documents and cryptography", () => {
  test.each<[string, string, unknown]>([
    [
      "node-jose, encryption",
      "await (async () => { const jose = require('node-jose'); const key = await jose.JWK.createKey('oct', 256, { alg: 'A256GCM' }); const e = await jose.JWE.createEncrypt(key).update('hi').final(); return (await jose.JWE.createDecrypt(key).decrypt(e)).plaintext.toString(); })()",
      "hi",
    ],
    [
      "node-jose, signatures",
      "await (async () => { const jose = require('node-jose'); const key = await jose.JWK.createKey('RSA', 2048); const s = await jose.JWS.createSign(key).update('hi').final(); return (await jose.JWS.createVerify(key).verify(s)).payload.toString(); })()",
      "hi",
    ],
    [
      "openpgp, by a password",
      "await (async () => { const o = require('openpgp'); const e = await o.encrypt({ message: await o.createMessage({ text: 'hi' }), passwords: ['p'] }); return (await o.decrypt({ message: await o.readMessage({ armoredMessage: e }), passwords: ['p'] })).data; })()",
      "hi",
    ],
    [
      "openpgp, by keys",
      "await (async () => { const o = require('openpgp'); const { privateKey, publicKey } = await o.generateKey({ userIDs: [{ name: 'a' }], format: 'object' }); const e = await o.encrypt({ message: await o.createMessage({ text: 'hi' }), encryptionKeys: publicKey }); return (await o.decrypt({ message: await o.readMessage({ armoredMessage: e }), decryptionKeys: privateKey })).data; })()",
      "hi",
    ],
    [
      "pdf-lib",
      "await (async () => { const { PDFDocument, StandardFonts } = require('pdf-lib'); const d = await PDFDocument.create(); d.addPage().drawText('hi', { font: await d.embedFont(StandardFonts.Helvetica) }); const again = await PDFDocument.load(await d.save()); return again.getPageCount(); })()",
      1,
    ],
    [
      "pdfkit",
      "await new Promise((ok, no) => { const D = require('pdfkit'); const d = new D(); const c = []; d.on('data', (x) => c.push(x)); d.on('end', () => ok(Buffer.concat(c).toString('latin1').replace(/^(%PDF-1.3)[^]*(%%EOF)\\s*$/, '$1 $2'))); d.on('error', no); d.font('Times-Bold').text('Hello'); d.end(); })",
      "%PDF-1.3 %%EOF",
    ],
    [
      "exceljs",
      "await (async () => { const E = require('exceljs'); const w = new E.Workbook(); w.addWorksheet('s').addRow([1, 'a']); const r = new E.Workbook(); await r.xlsx.load(await w.xlsx.writeBuffer()); return r.getWorksheet('s').getRow(1).values; })()",
      [null, 1, "a"],
    ],
    [
      "jszip",
      "await (async () => { const Z = require('jszip'); const z = new Z(); z.file('a.txt', 'hi'); const b = await z.generateAsync({ type: 'nodebuffer', compression: 'DEFLATE' }); return (await Z.loadAsync(b)).file('a.txt').async('string'); })()",
      "hi",
    ],
    [
      "split2",
      "await new Promise((ok) => { const out = []; require('stream').Readable.from(['a\\nb', 'c\\n']).pipe(require('split2')()).on('data', (l) => out.push(l)).on('end', () => ok(out)); })",
      ["a", "bc"],
    ],
    [
      "mastercard-oauth1-signer",
      "require('mastercard-oauth1-signer').getAuthorizationHeader('https://e.com/a?b=c', 'POST', '{}', 'ck', require('crypto').generateKeyPairSync('rsa', { modulusLength: 2048, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } }).privateKey).replace(/(signature|nonce|timestamp)=\"[^\"]*\"/g, '$1')",
      expect.stringMatching(
        /^OAuth oauth_body_hash="RBNvo1WzZ4oRRq0W9\+hknpT7T8If536DEMBg9hyq\/4o=",oauth_consumer_key="ck",oauth_nonce,/,
      ),
    ],
    [
      "mastercard-client-encryption",
      "Object.keys(require('mastercard-client-encryption'))",
      ["Service", "FieldLevelEncryption", "JweEncryption", "EncryptionUtils"],
    ],
    [
      "the contexts of wallets, without a configuration",
      "[['google', 'GooglePaymentMethodTokenContext'], ['apple', 'ApplePaymentTokenContext']].map(([n, C]) => { try { new (require('@basis-theory/' + n + '-pay-js')[C])({ merchants: [] }); } catch (e) { return e.message; } }).concat(typeof require('@basis-theory/shopify-js').ShopifyPaymentSessionContext)",
      [...Array(2).fill("No merchant configuration provided for decryption context."), "function"],
    ],
  ])("%s", async (_name, expression, expected) => {
    expect((await call(expression)).value).toEqual(expected);
  });
});
