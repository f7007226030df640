import { changeState } from './change-state.ts'

/** `toolroom start SERVER...` */
export const run = changeState('start')
