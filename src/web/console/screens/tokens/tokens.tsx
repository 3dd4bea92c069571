import { useSearchParams } from "wouter";
import { NewToken } from "./new-token.js";
import { TokenDetails } from "./token-details.js";
import { TokenList } from "./token-list.js";

/** The token that the address names, or the list. Ids contain any character, so they are never part of the path. */
export default function Tokens() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewToken />;
  return id === null ? <TokenList /> : <TokenDetails key={id} id={id} />;
}
