interface Test {
  readonly file: string
  readonly name: string
  readonly status: string
}
export function judgeSkipped(
  tests: readonly Test[],
  inCi: boolean,
  system?: NodeJS.Platform | 'wine',
  missing?: readonly string[],
): { readonly lines: string[]; readonly unexpected: number }
