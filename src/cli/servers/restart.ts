import { changeState } from './change-state.ts'

/** `toolroom restart SERVER...` */
export const run = changeState('restart')
