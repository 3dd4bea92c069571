import { useSearchParams } from "wouter";
import { PaymentDetails } from "./payment-details.js";
import { PaymentList } from "./payment-list.js";
import { TryPayment } from "./try-payment.js";

export default function Payments() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("try")) return <TryPayment />;
  return id === null ? <PaymentList /> : <PaymentDetails key={id} id={id} />;
}
