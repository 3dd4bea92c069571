// In JavaScript, because the library's types add those of browsers to the whole program.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import json from "highlight.js/lib/languages/json";
import plaintext from "highlight.js/lib/languages/plaintext";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

for (const [name, language] of Object.entries({ bash, go, json, plaintext, typescript, xml, yaml })) {
  hljs.registerLanguage(name, language);
}

export function highlighted(code, language = "") {
  return hljs.highlight(code, { language: hljs.getLanguage(language) ? language : "plaintext" }).value;
}
