import { changeState } from './change-state.ts'

/** `toolroom stop SERVER...` */
export const run = changeState('stop')
