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
export const SERVERS: readonly Server[]
export function loadSdks(): Promise<readonly Sdk[]>
export function rowOf(server: Server, sdks: readonly Sdk[]): Promise<Row>
export function staleIn(rows: readonly Row[]): string[]
export function allowedTable(): string
