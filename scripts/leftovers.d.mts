interface Leftover {
  readonly pid: number
  readonly command: string
}
interface Row {
  readonly ProcessId: number
  readonly ParentProcessId: number
  readonly CommandLine: string | null
}
export function markedIn(text: string, mark: string): Leftover[]
export function oursIn(rows: readonly Row[], folders: readonly string[], self: number): Leftover[]
