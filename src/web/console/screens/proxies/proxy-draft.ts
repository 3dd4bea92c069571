import { toJson } from "@bufbuild/protobuf";
import {
  type Proxy as ProxyEntity,
  type ProxyTransform,
  ProxyTransformSchema,
} from "#client/proto/cloakroom/v1/proxies_pb.js";

/** What a person edits of a proxy: one code transform for requests and one for responses. */
export interface ProxyDraft {
  readonly name: string;
  readonly destinationUrl: string;
  readonly requestCode: string;
  readonly responseCode: string;
  readonly applicationId: string;
  readonly configuration: string;
}

export function openProxyDraft(proxy: ProxyEntity | undefined): ProxyDraft {
  return {
    name: proxy?.name ?? "",
    destinationUrl: proxy?.destinationUrl ?? "",
    requestCode: firstCode(requestTransforms(proxy)),
    responseCode: firstCode(responseTransforms(proxy)),
    applicationId: proxy?.applicationId ?? "",
    configuration: "",
  };
}

export function requestTransforms(proxy: ProxyEntity | undefined): readonly ProxyTransform[] {
  return proxy ? all(proxy.requestTransforms, proxy.requestTransform) : [];
}

export function responseTransforms(proxy: ProxyEntity | undefined): readonly ProxyTransform[] {
  return proxy ? all(proxy.responseTransforms, proxy.responseTransform) : [];
}

function all(several: readonly ProxyTransform[], one: ProxyTransform | undefined): readonly ProxyTransform[] {
  if (several.length > 0) return several;
  return one ? [one] : [];
}

function firstCode([transform]: readonly ProxyTransform[]): string {
  return transform?.code ?? "";
}

/** Whether the two editors can show all transforms: others are kept as they are. */
export function isEditable(transforms: readonly ProxyTransform[]): boolean {
  return transforms.length <= 1 && transforms.every(({ code, options }) => Boolean(code) && !options);
}

/** An editor's code as transforms; none if it is empty. */
export function codeTransforms(code: string): readonly { readonly type: string; readonly code: string }[] {
  return code.trim() === "" ? [] : [{ type: "code", code }];
}

export function textOfTransforms(transforms: readonly ProxyTransform[]): string {
  return JSON.stringify(
    transforms.map((transform) => toJson(ProxyTransformSchema, transform)),
    undefined,
    2,
  );
}
