import type { DescField, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/** The comment above something in its proto, on one line; undefined for an element without a comment. */
export function commentOf(desc: DescField | DescMessage | DescMethod | DescService): string | undefined {
  return getComments(desc).leading?.replace(/\s+/g, " ").trim() || undefined;
}

/** The first sentence as the summary, without its full stop, and the rest. */
export function splitComment(comment: string): { summary: string; rest: string } {
  const end = /\.(?= [A-Z]|$)/.exec(comment)?.index ?? comment.length;
  return { summary: comment.slice(0, end), rest: comment.slice(end + 1).trim() };
}
