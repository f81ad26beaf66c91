import { Inject, type InjectionToken } from '@nestjs/common'
import type { Engine } from '@outlay/core'

/** The engine of a module without a name, as a type of a constructor's parameter: Nest injects it by that. */
export type OutlayEngine<Tx> = Engine<Tx>

/** The token of the engine of a module without a name. It has no instances of its own. */
export const OutlayEngine = class OutlayEngine {} as unknown as abstract new <Tx>() => Engine<Tx>

/** The name of the engine of a module without one. */
export const defaultEngine = 'default'

/** The token of an engine, for `inject` and `app.get`; that of a module without a name is {@link OutlayEngine}. */
export function getOutlayToken(engine: string = defaultEngine): InjectionToken {
  return engine === defaultEngine ? OutlayEngine : `outlay engine ${engine}`
}

/**
 * Injects the engine of a module: the only one, or one by name. Works without `emitDecoratorMetadata`, too.
 *
 * @example
 * constructor(@InjectOutlay() private readonly engine: Engine<EntityManager>) {}
 */
export function InjectOutlay(engine?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getOutlayToken(engine))
}
