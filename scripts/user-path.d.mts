export function userPath(path: string, checkout: string, separator?: string): string
