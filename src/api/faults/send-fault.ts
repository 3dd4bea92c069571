import type { FastifyReply } from "fastify";
import type { Fault } from "../../base/fault.js";
import { faultHeaders, PROBLEM_TYPE, problemDetails } from "./problem.js";

export function sendFault(reply: FastifyReply, fault: Fault, traceId: string): FastifyReply {
  const problem = problemDetails(fault, traceId);
  reply.code(problem.status).headers({ ...faultHeaders(fault), "content-type": PROBLEM_TYPE });
  return reply.send(JSON.stringify(problem));
}
