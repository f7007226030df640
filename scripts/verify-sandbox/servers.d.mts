export interface SandboxedServer {
  readonly name: string
  readonly package: string
}
export const SERVERS: readonly SandboxedServer[]
