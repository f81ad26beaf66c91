import '@outlay/core/node-version'

export { getOutlayToken, InjectOutlay, OutlayEngine } from './injection.ts'
export type {
  OutlayModuleAsyncOptions,
  OutlayModuleOptions,
  OutlayModulePlace,
  OutlayOptions,
  OutlayOptionsFactory,
} from './module-options.ts'
export { OutlayModule } from './outlay-module.ts'
export { OnTransfer, OnTransferMany, type OnTransferOptions } from './subscription.ts'
export { receiveWebhook, type WebhookRequest } from './webhook.ts'
