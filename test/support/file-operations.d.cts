import type { Operation } from './power-loss.ts'

/** Records what this process does to files, in order. Returns a function that ends the recording. */
export function record(onOperation: (operation: Operation) => void): () => void
