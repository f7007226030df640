interface Server {
  readonly name: string
  readonly version: string
}
interface Row {
  readonly server: string
  readonly comparisons: number
  readonly unexplained: readonly string[]
}
/** A client of an official SDK. */
interface Sdk {
  readonly name: string
}
/** A running service. */
interface Bed {
  close(): Promise<void>
}
export const serversFor: (full: boolean) => readonly Server[]
export function loadSdks(): Promise<readonly Sdk[]>
export function openBed(): Promise<Bed>
export function rowOf(server: Server, bed: Bed, sdks: readonly Sdk[], full: boolean): Promise<Row>
export function staleIn(rows: readonly Row[]): string[]
export function allowedTable(): string
