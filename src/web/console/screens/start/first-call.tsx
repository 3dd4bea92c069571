import { useState } from "react";
import { CodeSample } from "../../components/text.js";

const DATA = '{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"}';

/** The same call in each language. `BASE` and `KEY` are set as the first lines say. */
const SAMPLES = {
  curl: (base: string) => `export BASE=${base}
export KEY=...   # of the application
curl -s $BASE/tokens -H "BT-API-KEY: $KEY" -H 'Content-Type: application/json' \\
  -d '{"type":"card","data":${DATA}}'`,
  TypeScript: (base: string) => `// npm install @cloakroom/client
import { Cloakroom } from "@cloakroom/client";

const cloakroom = new Cloakroom({ baseUrl: "${base}", apiKey: process.env.KEY });
const token = await cloakroom.tokens.create({
  type: "card",
  data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" },
});
console.log(token.id);`,
  gRPC: (base: string) => `export KEY=...   # of the application
grpcurl ${base.startsWith("https:") ? "" : "-plaintext "}-H "BT-API-KEY: $KEY" \\
  -d '{"type":"card","data":${DATA}}' \\
  ${new URL(base).host} cloakroom.v1.TokenService/CreateToken`,
  Go: (base: string) => `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(\`{"type":"card","data":${DATA}}\`)
	request, err := http.NewRequest("POST", "${base}/tokens", body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("BT-API-KEY", os.Getenv("KEY"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(response.Status, string(text))
}`,
} as const;

type Language = keyof typeof SAMPLES;
const LANGUAGES: readonly Language[] = ["curl", "TypeScript", "gRPC", "Go"];

/** The call that stores a first card, to copy. */
export function FirstCall() {
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <>
      <fieldset className="tabs" aria-label="Language">
        {LANGUAGES.map((each) => (
          <button key={each} type="button" aria-pressed={each === language} onClick={() => setLanguage(each)}>
            {each}
          </button>
        ))}
      </fieldset>
      <CodeSample label={`The call in ${language}`} code={SAMPLES[language](location.origin)} />
    </>
  );
}
