/** Styles that esbuild puts beside the bundle. */
declare module "*.css";
