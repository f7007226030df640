/** What the agent that owns the file can read beyond strict JSON. */
export interface Dialect {
  readonly comments: boolean
  readonly trailingCommas: boolean
  readonly bom: boolean
}
