import { INHERITED_EVERYWHERE } from '../inherited.ts'

/** The variables that a child inherits on Linux and macOS. Those of XDG name the folders of the user. */
export const INHERITED: readonly string[] = [
  'HOME',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'USER',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
  ...INHERITED_EVERYWHERE,
]
