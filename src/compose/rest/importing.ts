import type { HttpServers } from '../../http-servers/http-servers.service.ts'
import { httpTarget } from '../../http-servers/import-target.ts'
import type { Packages } from '../../packages/packages.service.ts'
import type { Secrets } from '../../secrets/secrets.service.ts'
import type { FindProgram } from '../../servers/actions/diagnose.ts'
import { createImporter } from '../../servers/import.service.ts'
import { stdioTarget } from '../../servers/import-target.ts'
import type { Servers } from '../../servers/servers.service.ts'
import type { OptionDeps } from '../../upstreams/import/apply-options.ts'
import type { References } from '../../upstreams/references.ts'

interface Parts {
  readonly references: References
  readonly namedSecrets: Secrets
  readonly packages: Packages
  readonly servers: Servers
  readonly httpServers: HttpServers
  readonly home: string
  readonly runtime: { readonly findProgram: FindProgram }
}

/** The import of snippets, and what it has in common with the import of agents' files. */
export function openImporting(parts: Parts) {
  const { references, namedSecrets, packages, servers, httpServers, home, runtime } = parts
  const options: OptionDeps = {
    isOwnSetting: (name) => references.isOwnSetting(name),
    namedSecrets,
    install: (spec, by) => packages.installForServer(spec, by),
  }
  const targets = { stdio: stdioTarget(servers, references), http: httpTarget(httpServers, references) }
  return {
    options,
    targets,
    importer: createImporter({ ...options, ...targets, home, findProgram: runtime.findProgram }),
  }
}
export type Importing = ReturnType<typeof openImporting>
