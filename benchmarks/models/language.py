"""Transformers of `transformers`' configurations, and a tagger, all with random weights."""

import torch
import transformers
from torch import nn
from transformers.cache_utils import DynamicCache

_SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
_TOKENS = {"vocab_size": 100, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


class Output(nn.Module):
    """A model of `transformers` that takes positional inputs and gives one result.

    Args:
        model: the model.
        names: of its inputs.
        result: the name of the result.
        fixed: inputs that are the same in every call.
    """

    def __init__(self, model, names, result, **fixed):
        super().__init__()
        self.model, self.names, self.result, self.fixed = model, names, result, fixed

    def forward(self, *inputs):
        given = dict(zip(self.names, inputs, strict=True))
        return getattr(self.model(**given, **self.fixed), self.result)


class Decoder(nn.Module):
    """A language model with a cache: tokens, then keys and values of each layer, in and out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, *cache):
        pairs = DynamicCache(list(zip(cache[::2], cache[1::2], strict=True)))
        out = self.model(tokens, past_key_values=pairs, use_cache=True, logits_to_keep=1)
        grown = [
            each for layer in out.past_key_values.layers for each in (layer.keys, layer.values)
        ]
        return out.logits, *grown


def vit(small):
    """Return ViT-B/16 with its classifier."""
    sizes = {**_SMALL, "num_hidden_layers": 2, "image_size": 32, "patch_size": 8} if small else {}
    config = transformers.ViTConfig(**sizes, num_labels=1000)
    return Output(transformers.ViTForImageClassification(config), ["pixel_values"], "logits")


def bert(small):
    """Return BERT-base: tokens and a mask in, hidden states out."""
    sizes = {**_SMALL, **_TOKENS, "num_hidden_layers": 2} if small else {}
    config = transformers.BertConfig(**sizes)
    model = transformers.BertModel(config, add_pooling_layer=False)
    return Output(model, ["input_ids", "attention_mask"], "last_hidden_state")


def t5(small):
    """Return T5-small: tokens of both sides in, scores out."""
    sizes = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_heads": 4, "num_layers": 2}
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**({**sizes, "vocab_size": 100} if small else {}))
    )
    return Output(model, ["input_ids", "decoder_input_ids"], "logits", use_cache=False)


def gpt2(small):
    """Return GPT-2 with a cache."""
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 4, **_TOKENS} if small else {}
    return Decoder(transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)))


def llama(small):
    """Return a decoder of Llama's kind with a cache: RoPE, GQA, RMSNorm, SwiGLU."""
    sizes = {**_SMALL, **_TOKENS, "num_hidden_layers": 2, "num_key_value_heads": 2}
    large = {
        "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8,
        "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000,
    }  # fmt: skip
    config = transformers.LlamaConfig(**(sizes if small else large))
    return Decoder(transformers.LlamaForCausalLM(config))


def llama_bfloat16(small):
    """Return the same with weights and activations in bfloat16."""
    return llama(small).bfloat16()


class Int4Linear(nn.Module):
    """A layer of 4-bit weights, two in a byte, with a scale for each group of inputs.

    Args:
        linear: the layer whose weights are rounded.
        group: inputs that share a scale.
    """

    def __init__(self, linear, group=32):
        super().__init__()
        outputs, inputs = linear.weight.shape
        groups = linear.weight.detach().reshape(outputs, inputs // group, group)
        scales = groups.abs().amax(-1, keepdim=True) / 7
        quantized = (groups / scales).round().clamp(-8, 7).to(torch.int32) + 8
        quantized = quantized.reshape(outputs, inputs)
        self.register_buffer("packed", (quantized[:, ::2] | quantized[:, 1::2] << 4).byte())
        self.register_buffer("scales", scales)

    def forward(self, x):
        # torch's exporter gives shifts of uint8 the wrong type.
        both = torch.stack([self.packed & 15, self.packed // 16], -1)
        outputs, groups, _ = self.scales.shape
        weight = (both.reshape(outputs, groups, -1).to(x.dtype) - 8) * self.scales
        return nn.functional.linear(x, weight.reshape(outputs, -1))


def llama_int4(small):
    """Return the same with 4-bit weights in all layers but the last."""
    model = llama(small)
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and "lm_head" not in name:
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, Int4Linear(module))
    return model


def whisper(small):
    """Return the encoder of Whisper-tiny."""
    sizes = {
        "d_model": 384, "encoder_layers": 4, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536
    }  # fmt: skip
    if small:
        sizes = {
            "d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 4,
            "encoder_ffn_dim": 128, "max_source_positions": 40,
        }  # fmt: skip
    config = transformers.WhisperConfig(**sizes, decoder_layers=1, decoder_attention_heads=4)
    model = transformers.WhisperModel(config)
    return Output(model.encoder, ["input_features"], "last_hidden_state")


class Tagger(nn.Module):
    """Words in, a score of every tag for each word out: a bidirectional LSTM of two layers."""

    def __init__(self, words, width, hidden, tags):
        super().__init__()
        self.embed, self.head = nn.Embedding(words, width), nn.Linear(2 * hidden, tags)
        self.lstm = nn.LSTM(width, hidden, 2, bidirectional=True, batch_first=True)

    def forward(self, words):
        return self.head(self.lstm(self.embed(words))[0])


def tagger(small):
    """Return the tagger."""
    return Tagger(100, 16, 24, 5) if small else Tagger(10000, 128, 256, 20)
