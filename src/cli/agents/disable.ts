import { switchServer } from './switch-servers.ts'

/** `toolroom disable SERVER --in AGENT` */
export const disable = switchServer(false)
