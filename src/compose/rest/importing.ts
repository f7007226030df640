import type { Agents } from '../../agents/agents.service.ts'
import type { Definition, RegisteredServer } from '../../agents/catalogue/definition.ts'
import type { Secrets } from '../../api/secrets/secrets.service.ts'
import { httpTarget } from '../../import/http-target.ts'
import type { OptionDeps } from '../../import/options/apply-options.ts'
import { createAgentImport } from '../../import/read/agent-file/import-servers.ts'
import { createImporter } from '../../import/snippet-import.service.ts'
import { addImported, stdioTarget } from '../../import/stdio-target.ts'
import type { HttpServers } from '../../servers/http/http-servers.service.ts'
import type { Packages } from '../../servers/packages/packages.service.ts'
import type { References } from '../../servers/shared/definition/references.ts'
import type { FindProgram } from '../../servers/stdio/actions/diagnose.ts'
import type { Servers } from '../../servers/stdio/servers.service.ts'

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
type Importing = ReturnType<typeof openImporting>

interface AgentImportParts {
  readonly agents: Agents
  readonly home: string
  readonly registered: () => Promise<readonly RegisteredServer[]>
  readonly servers: Pick<Servers, 'add' | 'stop'>
  readonly httpServers: Pick<HttpServers, 'add'>
  readonly importing: Importing
}

/** The import of agents' files. */
export function openAgentImport({
  agents,
  home,
  registered,
  servers,
  httpServers,
  importing,
}: AgentImportParts) {
  const { targets, options } = importing
  return createAgentImport({
    files: agents.importable,
    home,
    registered,
    register: (name, definition, options, by) =>
      definition.type === 'stdio'
        ? addImported(servers, { ...definition, name, args: [...definition.args] }, options, by)
        : httpServers.add({ name, ...remote(definition), enabled: options.enabled }, by),
    redefine: (id, definition, by) =>
      definition.type === 'stdio'
        ? targets.stdio.change(id, localDefinition(definition), by)
        : targets.http.change(id, { type: 'http', ...remote(definition) }, by),
    problemOf: (name, definition) =>
      definition.type === 'stdio'
        ? targets.stdio.problem(name, localDefinition(definition))
        : targets.http.problem(name, { type: 'http', ...remote(definition) }),
    ...options,
  })
}

const localDefinition = ({ type, command, args, env, cwd }: Extract<Definition, { type: 'stdio' }>) => ({
  type,
  command,
  args: [...args],
  env: { ...env },
  ...(cwd !== null && { cwd }),
})

const remote = ({ type, url, headers }: Exclude<Definition, { type: 'stdio' }>) => ({
  url,
  headers: { ...headers },
  transport: type === 'sse' ? ('sse' as const) : ('auto' as const),
})
