import { ElementsError, elements } from "./index.js";

/** What `<script src="{vault}/elements/v1/elements.js">` gives a page: `cloakroom.elements(...)`. */
Object.defineProperty(window, "cloakroom", { value: Object.freeze({ elements, ElementsError }), configurable: true });
