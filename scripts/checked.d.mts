export function stamp(
  file: string,
  folder?: string,
): { readonly date: string; readonly toolroom: string; readonly commit: string | null }
export function staleResults(folder?: string): string[]
