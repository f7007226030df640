import type { Carrier } from '../../kernel/secrets/secrets.ts'
import { referenceNotes } from '../translate/translate-definition.ts'
import { containerImport } from './container-run.ts'

/** What the user has to know before an imported definition works. */
export const importNotes = (definition: Carrier): string[] => [
  ...referenceNotes(definition),
  ...dockerNotes(definition),
  ...containerNotes(definition),
]

const DOCKER = /(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/
const VARIABLE = /^[A-Za-z_]\w*$/

/** `docker run -e NAME` takes the value from its own environment, which is the server's env here. */
function dockerNotes({ command = '', args = [], env = {} }: Carrier): string[] {
  if (!DOCKER.test(command) || !args.includes('run')) return []
  const passed = args.flatMap((arg, index) => {
    const inline = /^(?:-e|--env)=(.*)$/s.exec(arg)?.[1]
    const value = arg === '-e' || arg === '--env' ? args[index + 1] : inline
    return value !== undefined && VARIABLE.test(value) && !Object.hasOwn(env, value) ? [value] : []
  })
  return passed.map(
    (name) => `docker passes ${name} from its own environment to the container; add ${name} to env`,
  )
}

/** A killed `docker run` leaves its container behind. */
function containerNotes(definition: Carrier): string[] {
  const found = containerImport(definition)
  if (!found) return []
  if (!found.ok)
    return [`It stays a command that runs a container, which Toolroom cannot run itself: ${found.why}`]
  const { image } = found.container
  return [
    `Toolroom runs this container itself, with a read-only root and limits, and ends it with the server. Before the first start, run toolroom images pull ${image}. Set isolation to none to run the command instead`,
  ]
}
