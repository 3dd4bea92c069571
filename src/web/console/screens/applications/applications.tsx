import { useSearchParams } from "wouter";
import { ApplicationDetails } from "./application-details.js";
import { ApplicationList } from "./application-list.js";
import { NewApplication } from "./new-application.js";

export default function Applications() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewApplication />;
  return id === null ? <ApplicationList /> : <ApplicationDetails key={id} id={id} />;
}
