import { useSearchParams } from "wouter";
import { PaymentDetails } from "./payment-details.js";
import { PaymentList } from "./payment-list.js";

export default function Payments() {
  const [params] = useSearchParams();
  const id = params.get("id");
  return id === null ? <PaymentList /> : <PaymentDetails key={id} id={id} />;
}
