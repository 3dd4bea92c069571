import type { DescField, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/**
 * The comment above something in its proto, on one line; undefined for an element without a comment. A field of a request
 * that writes something has the comment of the field that shows it, unless it has its own.
 */
export function commentOf(desc: DescField | DescMessage | DescMethod | DescService): string | undefined {
  const own = getComments(desc).leading?.replace(/\s+/g, " ").trim();
  if (own || desc.kind !== "field") return own || undefined;
  const shown = shownFieldOf(desc);
  return shown && commentOf(shown);
}

function shownFieldOf({ parent, name }: DescField): DescField | undefined {
  const resource = /^(?:Create|Replace|Update)(\w+)Request$/.exec(parent.name)?.[1];
  const message = parent.file.messages.find((candidate) => candidate.name === resource);
  return message?.fields.find((field) => field.name === name);
}

/** The first sentence as the summary, without its full stop, and the rest. */
export function splitComment(comment: string): { summary: string; rest: string } {
  const end = /\.(?= [A-Z]|$)/.exec(comment)?.index ?? comment.length;
  return { summary: comment.slice(0, end), rest: comment.slice(end + 1).trim() };
}
