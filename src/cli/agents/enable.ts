import { switchServer } from './switch-servers.ts'

/** `toolroom enable SERVER --in AGENT` */
export const enable = switchServer(true)
