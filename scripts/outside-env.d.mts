export function outsideEnv(): NodeJS.ProcessEnv
export function npmOfThisComputer(): Record<string, string>
