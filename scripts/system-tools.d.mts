export function toolsFor(files: readonly string[]): { readonly package: string }[]
