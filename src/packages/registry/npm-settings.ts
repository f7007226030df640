export interface NpmSettings {
  readonly registry: string
  registryFor(name: string): string
  authorizationFor(url: string): string | undefined
}
