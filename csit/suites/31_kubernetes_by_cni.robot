*** Settings ***
Documentation       A cluster from its API to its packets: the API server is played (csit/libraries/kube_api.py), as is kubelet, which calls the plugin for each pod that it
...                 is given; the watcher, the controller, the agents and Open vSwitch are the real ones, and there is no kube-proxy.
Resource            ../resources/cluster.resource
Library             ../libraries/Traffic.py
Suite Setup         Start A Cluster Of Two Nodes With Agents    blue
Suite Teardown      Stop Cluster And Lab

*** Test Cases ***
Pods Run And Reach Each Other
    ${web}=    Kubelet Runs    blue    web    1    app=web
    Should Be Equal    ${web}    10.11.1.2
    Kubelet Runs    blue    client    2    app=client
    ${other}=    Kubelet Runs    blue    other    2    app=other
    Should Be Equal    ${other}    10.11.2.3
    Datastore Should Follow
    Traffic Should Pass    blue:client    blue:web    v4    tcp
    Traffic Should Pass    blue:web    blue:other    v4    full

A Service Is Reached
    Service Is    blue    web    10.96.0.10    8080    8080
    Service Has    blue    web    8080    10.11.1.2
    Datastore Should Follow
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    1048576

A Policy Is Enforced
    Only App May Reach    blue    web    client
    Datastore Should Follow
    Ping Should Pass    blue:client    10.11.1.2
    Ping Should Fail    blue:other    10.11.1.2

A Pod That Has Come Since Is Under The Policy
    ${late}=    Kubelet Runs    blue    late    1    app=web
    Datastore Should Follow
    Ping Should Pass    blue:client    ${late}
    Ping Should Fail    blue:other    ${late}
    Policy Goes    blue    web
    Datastore Should Follow
    Ping Should Pass    blue:other    ${late}
    Kubelet Ends    blue    late

A New Sandbox Keeps The Address
    ${again}=    Kubelet Runs    blue    web    1    app=web
    Should Be Equal    ${again}    10.11.1.2
    Datastore Should Follow
    Ping Should Pass    blue:client    10.11.1.2
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    100000
    Call By Cni    CHECK    blue:web

What Is Gone Is Gone Everywhere
    Kubelet Ends    blue    web
    Kubelet Ends    blue    client
    Kubelet Ends    blue    other
    Datastore Should Follow
    Nothing Should Be Left    1    timeout=10
    Nothing Should Be Left    2    timeout=10
    Tables Should Be As From Scratch

*** Keywords ***
The Service Should Carry
    [Arguments]    ${size}
    ${came}=    TCP Transfer    blue:client    blue:web    8080    ${size}    10.96.0.10
    Should Be Equal As Integers    ${came}    ${size}
