import { describe, expect, it } from "vitest";
import { splitComment } from "../../../scripts/openapi/comments.js";

describe("a comment", () => {
  it.each([
    ["Reads one token.", "Reads one token", ""],
    ["Lists tokens, newest first. Others are not counted.", "Lists tokens, newest first", "Others are not counted."],
    ["Reads a result: not found until it is ready.", "Reads a result: not found until it is ready", ""],
    ["Takes e.g. this and RFC 7386. Null clears. Always.", "Takes e.g. this and RFC 7386", "Null clears. Always."],
    ["No full stop", "No full stop", ""],
    ["", "", ""],
  ])("%j has its first sentence as the summary", (comment, summary, rest) => {
    expect(splitComment(comment)).toEqual({ summary, rest });
  });
});
