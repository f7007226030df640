import type { LastError } from '../../kernel/server-state.ts'

/** Why a server in isolation is not started: a path that it should get, or its working folder. */
export type PathRefusal =
  | { readonly why: 'missing'; readonly file: string }
  | { readonly why: 'link'; readonly file: string; readonly link: string }
  | { readonly why: 'own'; readonly file: string }
  | { readonly why: 'cwd'; readonly file: string; readonly mayAdd: boolean }
  | { readonly why: 'rights'; readonly file: string; readonly user: string }

/** The code of a working folder that a server was not granted, among others. */
const NOT_GRANTED = 'path_not_granted'

export function errorOf(refusal: PathRefusal): LastError {
  const { clause, hint } = textsOf(refusal)
  return {
    code: refusal.why === 'missing' ? 'path_not_found' : NOT_GRANTED,
    message: `The server was not started: ${clause}`,
    hint,
    action: { kind: 'change_isolation' },
  }
}

function textsOf(refusal: PathRefusal): { readonly clause: string; readonly hint: string } {
  const { file } = refusal
  switch (refusal.why) {
    case 'missing':
      return {
        clause: `${file}, which its isolation needs, does not exist`,
        hint: 'Create it, or remove it from isolation_options',
      }
    case 'link':
      return {
        clause: `${file} leads through ${refusal.link}, a link in a folder that a server in isolation may change`,
        hint: 'Delete the link if you did not make it. Otherwise grant the folder that it leads to by its own name',
      }
    case 'own':
      return {
        clause: `${file} belongs to Toolroom, and no server in isolation gets it`,
        hint: 'Remove it from isolation_options',
      }
    case 'cwd':
      return {
        clause: `its working folder ${file} is outside of what it may reach`,
        hint: refusal.mayAdd
          ? 'Add the folder to read or write in isolation_options, or change cwd'
          : 'Change cwd: no server in isolation gets this folder by itself',
      }
    case 'rights':
      return {
        clause: `${file} cannot be changed by ${refusal.user}, as whom Toolroom runs sandboxed servers because it is root itself`,
        hint: `Run: sudo chown -R ${refusal.user} ${quoted(file)}`,
      }
  }
}

const quoted = (file: string): string =>
  /^[\w./~-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`
