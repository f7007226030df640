/** What can be taken back with Ctrl Z, the last step first. Undone elsewhere, such as in a toast, a step is gone. */

let steps: readonly (() => void)[] = []

/** Returns the step, for a button that does the same. */
export function remember(undo: () => void): () => void {
  const step = () => {
    if (!steps.includes(step)) return
    steps = steps.filter((each) => each !== step)
    undo()
  }
  steps = [...steps, step]
  return step
}

export function forgetSteps(): void {
  steps = []
}

/** Takes the last step back. False if there is none. */
export function undoStep(): boolean {
  const step = steps.at(-1)
  step?.()
  return step !== undefined
}
